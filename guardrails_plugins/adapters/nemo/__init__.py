"""The sentence gate in NVIDIA NeMo Guardrails (LLMRails, its server, its chat).

What an outcome of the gate becomes:

=========== ================================ ====================================== =====================
state       `stream_async`                   `generate_async`, the server           `check_async`
=========== ================================ ====================================== =====================
open        a sentence, one item             --                                     --
completed   the end                          the text without markers               passed, or modified
withheld    NeMo's ``guardrails_violation``  the notice; the rail stops, its log    blocked
            frame, codes and notice in       names the codes
            its message; the end at once
failed      the same, ``check_failed``       the same, ``check_failed``             blocked
refused     the notice as last item (none    the notice (or the text before the     modified
            after released sentences)        token)
truncated   the notice as last item          the text, a blank line, the notice     --
=========== ================================ ====================================== =====================

A provider's error becomes NeMo's own ``generation_error`` or ``downstream_error`` item.

The gate sits in a wrapper around the model (`model.GatedModel`), so that blocked text never
enters NeMo; the flow's action (`action.sentence_gate`) answers NeMo for what the wrapper saw.
"""

from guardrails_plugins.adapters.nemo.action import sentence_gate
from guardrails_plugins.adapters.nemo.errors import GateItemsError, NemoConfigError, ProviderStreamError
from guardrails_plugins.adapters.nemo.flow import folder
from guardrails_plugins.adapters.nemo.install import init, install
from guardrails_plugins.adapters.nemo.items import gate_items
from guardrails_plugins.adapters.nemo.model import GatedModel
from guardrails_plugins.adapters.nemo.settings import ACTION, FLOW, NemoSettings

__all__ = [
    "ACTION",
    "FLOW",
    "GateItemsError",
    "GatedModel",
    "NemoConfigError",
    "NemoSettings",
    "ProviderStreamError",
    "folder",
    "gate_items",
    "init",
    "install",
    "sentence_gate",
]
