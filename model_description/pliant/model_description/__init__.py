"""The variables of an FMU, and the modelDescription.xml that tells importers of them.

table = VariableTable.build(model, TableOptions(step=1e-3))
xml = model_description_xml(table)
data = pack({**model.sections, **table_sections(table)})
"""

from __future__ import annotations

from pliant.model_description.naming import model_identifier
from pliant.model_description.sections import table_guid, table_sections
from pliant.model_description.table import TableOptions, VariableTable
from pliant.model_description.variable import Variable
from pliant.model_description.xml import Capabilities, communication_step, model_description_xml

__all__ = [
    "Capabilities",
    "TableOptions",
    "Variable",
    "VariableTable",
    "communication_step",
    "model_description_xml",
    "model_identifier",
    "table_guid",
    "table_sections",
]
