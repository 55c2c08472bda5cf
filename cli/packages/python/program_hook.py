"""Puts the program into the wheel.

``scripts/packages/wheel`` gives the program, the wheel's platform tag and the SBOM in these variables. Without them the wheel is
pure Python, and the module runs the program that ``ANRSCOPE_PROGRAM`` names or that is on the ``PATH``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the program as a script, so that an installer puts it on the ``PATH`` as it is."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        program = os.environ.get("ANRSCOPE_WHEEL_PROGRAM")
        if not program or version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['ANRSCOPE_WHEEL_PLATFORM']}"
        build_data["shared_scripts"][program] = Path(program).name
        build_data["sbom_files"].append(os.environ["ANRSCOPE_WHEEL_SBOM"])
