// Functions of time: prescribed motion and load tables.
#pragma once

#include "model.h"

namespace pliant::PLIANT_ISA {

struct Motion {
  double position, rate, acceleration, jerk;
};

// The quintic through position, rate and acceleration at both ends of [0, h], at time s.
inline Motion quintic(const Motion& a, const Motion& b, double h, double s) {
  const double x = s / h;
  // In Newton form about the left end: the two ends' Taylor data leave three coefficients.
  const double c2 = 0.5 * a.acceleration * h * h, c1 = a.rate * h, c0 = a.position;
  const double dp = b.position - (c0 + c1 + c2);
  const double dr = b.rate * h - (c1 + 2.0 * c2);
  const double da = b.acceleration * h * h - 2.0 * c2;
  const double c3 = 10.0 * dp - 4.0 * dr + 0.5 * da;
  const double c4 = -15.0 * dp + 7.0 * dr - da;
  const double c5 = 6.0 * dp - 3.0 * dr + 0.5 * da;
  return {c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5)))),
          (c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / h,
          (2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (h * h),
          (6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5)) / (h * h * h)};
}

// First row of a table whose time is beyond t: in (0, rows) when t is inside the table.
template <class Row>
inline int32_t row_after(const Row* rows, int32_t count, double t) {
  int32_t low = 0, high = count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    if (rows[middle].time > t) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// A time and the time whose row of a table counts there. At the ends of a step that is a little
// inside it: a value that ends or begins there, to rounding, is not that of the neighbouring step.
struct TableTime {
  double time, row_time;
};

inline TableTime at(double t) { return {t, t}; }

// The time `since` after the start of a step of length h.
inline TableTime within_step(double start, double h, double since) {
  return {start + since, start + since + 1e-6 * (0.5 * h - since)};
}

// Before its first row a motion goes at the rate with which it begins; the last row says how it
// goes on.
inline Motion motion_at_time(const Model& m, int32_t table, TableTime when) {
  const Table& motion = m.motions[table];
  const MotionRow* rows = &m.motion_rows[motion.row0];
  const double t = when.time;
  const int32_t after = row_after(rows, motion.rows, when.row_time);
  if (after == 0) {
    const double rate = rows[0].c[1];
    return {rows[0].c[0] + rate * (t - rows[0].time), rate, 0.0, 0.0};
  }
  const double* c = rows[after - 1].c;
  const double s = t - rows[after - 1].time;
  return {c[0] + s * (c[1] + s * (c[2] + s * (c[3] + s * (c[4] + s * c[5])))),
          c[1] + s * (2.0 * c[2] + s * (3.0 * c[3] + s * (4.0 * c[4] + s * 5.0 * c[5]))),
          2.0 * c[2] + s * (6.0 * c[3] + s * (12.0 * c[4] + s * 20.0 * c[5])),
          6.0 * c[3] + s * (24.0 * c[4] + s * 60.0 * c[5])};
}

struct LoadValue {
  double value, slope;
};

// Before its first and after its last row a load keeps the outer value.
inline LoadValue load_at_time(const Model& m, const LoadTable& c, TableTime when) {
  const LoadRow* rows = &m.load_rows[c.row0];
  const double t = when.time;
  const int32_t after = row_after(rows, c.rows, when.row_time);
  if (after == 0) return {rows[0].value, 0.0};
  const LoadRow& a = rows[after - 1];
  if (c.hold || after == c.rows) return {a.value, 0.0};
  const LoadRow& b = rows[after];
  const double slope = (b.value - a.value) / (b.time - a.time);
  return {a.value + slope * (t - a.time), slope};
}

// What acts in a step of length h from `start` on, at a moment of it. A load that bends or jumps
// inside the step acts as the straight line with the same impulse and the same first moment: a blow
// gives its impulse, however short, and what is given in finer steps than these is not lost. Of it,
// who asks once a step takes the middle: `from_middle` is how far off the moment is.
inline double load_in_step(const Model& m, const LoadTable& c, TableTime when, double start,
                           double h, double from_middle) {
  const LoadRow* rows = &m.load_rows[c.row0];
  const double first = within_step(start, h, 0.0).row_time;
  const double last = within_step(start, h, h).row_time;
  int32_t row = row_after(rows, c.rows, first);
  if (row == c.rows || rows[row].time >= last) return load_at_time(m, c, when).value;
  const double end = start + h, span = end - start, middle = start + 0.5 * span;
  double impulse = 0.0, moment = 0.0;
  for (double from = start; from < end; ++row) {
    const bool inside = row < c.rows && rows[row].time < last;
    const double to = inside ? rows[row].time : end;
    if (const double length = to - from; length > 0.0) {
      const double centre = from + 0.5 * length;
      const LoadValue load = load_at_time(m, c, at(centre));
      impulse += load.value * length;
      moment += length * (load.value * (centre - middle) + load.slope * length * length / 12.0);
    }
    if (!inside) break;
    from = to;
  }
  return impulse / span + 12.0 * moment / (span * span * span) * from_middle;
}

}  // namespace pliant::PLIANT_ISA
