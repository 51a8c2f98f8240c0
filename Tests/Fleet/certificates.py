# SPDX-License-Identifier: GPL-3.0-or-later
"""The test's own certificate authority, which is OpenSSL's command."""

import subprocess
from pathlib import Path
from typing import Any


class Authority:
    """Its certificate is `ca.pem` in a folder."""

    def __init__(self, folder: Path, name: str = "the test's authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.request("ca", name, "-x509", "-out", folder / "ca.pem")

    def openssl(self, *words: Any) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True)

    def request(self, file: str, name: str, *options: Any) -> None:
        """Makes FILE.key, and what a certificate of it is requested with, or one that signs itself."""
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        self.openssl("req", *curve, "-subj", f"/CN={name}", "-keyout", self.folder / f"{file}.key", *options)

    def certify(self, file: str, *names: str, days: int = 1) -> Path:
        """Makes FILE.pem and FILE.key for hosts or a client; returns the former."""
        request, path = self.folder / f"{file}.csr", self.folder / f"{file}.pem"
        alternatives = ",".join(f"{'IP' if name[0].isdigit() else 'DNS'}:{name}" for name in names)
        self.request(file, names[0], "-addext", f"subjectAltName={alternatives}", "-out", request)
        issuer = ("-CA", self.folder / "ca.pem", "-CAkey", self.folder / "ca.key", "-copy_extensions", "copy")
        self.openssl("x509", "-req", "-in", request, *issuer, "-days", str(days), "-out", path)
        return path
