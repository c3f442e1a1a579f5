"""Installs the sentence gate; NeMo calls `init` while it loads this folder."""

from guardrails_plugins.adapters.nemo import init

__all__ = ["init"]
