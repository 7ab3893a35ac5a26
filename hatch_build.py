"""The build hook: the project's addresses and its README for its metadata."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class AddressesHook(MetadataHookInterface):
    """Name the project's pages, where the workflow that builds a release says which repository it is of."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the URLs, and the README; in it links to other files, which PyPI does not have, lead to the repository."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
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
            tag = f"v{metadata['version']}"
            readme = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\1{source}/raw/{tag}/", readme)
            readme = re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\1{source}/blob/{tag}/", readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
