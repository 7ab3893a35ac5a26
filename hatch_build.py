"""The build hook: the project's addresses for its metadata."""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


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
                "Source": source,
                "Changelog": f"{source}/blob/main/CHANGELOG.md",
                "Issues": f"{source}/issues",
            }
