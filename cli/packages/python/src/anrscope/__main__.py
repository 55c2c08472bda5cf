"""``python -m anrscope`` runs the program."""

from __future__ import annotations

import os
import subprocess
import sys

from ._program import program


def main() -> int:
    """Replaces this process by the program; on Windows, which cannot, waits for it."""
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.run(command, check=False).returncode
    os.execv(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
