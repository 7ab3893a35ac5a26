"""The build hooks: the client library for a wheel, and the project's addresses for its metadata.

A wheel for Linux has the client library, compiled. The library does not use Python's ABI, so a wheel is for any Python 3 on one
platform. Without a C compiler, and in an editable installation, the wheel has no library; it is then compiled when it is first
needed (``mqembedded/libmqm/build.py``).

``tools/distributions.sh`` builds the wheels of a release: ``CC`` is then a compiler for an old glibc, and
``MQEMBEDDED_WHEEL_PLATFORM`` the platform tag that this allows, such as ``manylinux_2_17_x86_64``.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PLATFORM_VARIABLE = "MQEMBEDDED_WHEEL_PLATFORM"


class AddressesHook(MetadataHookInterface):
    """Name the project's pages, where the workflow that builds a release says which repository it is of."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the URLs."""
        server, repository = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
        metadata["urls"] = {}
        if server and repository:
            source = f"{server}/{repository}"
            owner, _, name = repository.partition("/")
            metadata["urls"] = {
                "Documentation": f"https://{owner.lower()}.github.io/{name}/",
                "Source": f"{source}/tree/main/embedded",
                "Changelog": f"{source}/blob/main/embedded/CHANGELOG.md",
                "Issues": f"{source}/issues",
            }


class ClientLibraryHook(BuildHookInterface[Any]):
    """Compile the client library for the wheel that is being built."""

    _made: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile it, and give the wheel the tag of its platform."""
        if version == "editable" or sys.platform != "linux":
            return
        sys.path.insert(0, self.root)
        from mqembedded.libmqm.build import BuildError, build

        wanted = os.environ.get(PLATFORM_VARIABLE)
        self._made = tempfile.TemporaryDirectory()
        try:
            directory = build(Path(self._made.name, "built"))
        except BuildError as error:
            if wanted:
                raise
            self.app.display_warning(f"this wheel has no client library: {error}")
            return
        platform = wanted or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][str(directory)] = "mqembedded/libmqm/built"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling's
        """Remove what was compiled; the wheel has it."""
        if self._made is not None:
            self._made.cleanup()
