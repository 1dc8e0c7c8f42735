"""The import of islpy, without what its version costs.

islpy asks `importlib.metadata` for its own version when it is imported, which loads Python's parser of electronic mail and forty
other modules: a fifteenth of the time from the start of Python to the first result of a kernel that nobody has compiled before.

Does: run islpy's version module as it is, with the version out of the name of the folder that `importlib.metadata` would read.
Does not: do so where that module or folder is not as expected, or `importlib.metadata` is loaded already: Python imports it then.
Invariants: `islpy` and `islpy.version` hold what they would hold.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from types import ModuleType, SimpleNamespace
from typing import Any

_NAME = "islpy.version"
_IMPORT = "from importlib import metadata\n"
_QUESTION = 'metadata.version("islpy")'


def import_islpy() -> Any:
    """The module `islpy`."""
    if "islpy" in sys.modules or "importlib.metadata" in sys.modules:
        return importlib.import_module("islpy")
    version = version_module()
    if version is None:
        return importlib.import_module("islpy")
    sys.modules[_NAME] = version
    try:
        islpy = importlib.import_module("islpy")
    except BaseException:
        sys.modules.pop(_NAME, None)
        raise
    islpy.version = version  # type: ignore[attr-defined]  # as the import of a submodule does
    return islpy


def version_module() -> ModuleType | None:
    """What `import islpy.version` would give, or None where that cannot be said."""
    package = find_spec("islpy")
    if package is None or not package.submodule_search_locations:
        return None
    folder = package.submodule_search_locations[0]
    path = os.path.join(folder, "version.py")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        beside = os.listdir(os.path.dirname(folder))
    except OSError:
        return None
    found = [name for name in beside if name.startswith("islpy-") and name.endswith(".dist-info")]
    if text.count(_IMPORT) != 1 or text.count(_QUESTION) != 1 or text.count("metadata") != 2 or len(found) != 1:
        return None
    spec = spec_from_file_location(_NAME, path)
    if spec is None:
        return None
    module = module_from_spec(spec)
    number = found[0].removeprefix("islpy-").removesuffix(".dist-info")
    known: dict[str, Any] = vars(module)
    known["metadata"] = SimpleNamespace(version={"islpy": number}.__getitem__)
    try:
        exec(compile(text.replace(_IMPORT, "\n"), path, "exec", dont_inherit=True), known)
    except Exception:  # a version of islpy that this does not know: Python's own import says what is wrong, if anything is
        return None
    del known["metadata"]
    return module
