# SPDX-License-Identifier: GPL-3.0-or-later
"""The test's own certificate authority."""

import ipaddress
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.now(timezone.utc)


class Authority:
    """Its certificate is `ca.pem` in a folder."""

    def __init__(self, folder: Path, name: str = "the test's authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self.begin(self.name, self.key).issuer_name(self.name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self.key, hashes.SHA256())
        )
        (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    @staticmethod
    def begin(subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 1) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(NOW - timedelta(days=3))
            .not_valid_after(NOW + timedelta(days=days))
        )

    def certify(self, file: str, *names: str, days: int = 1) -> Path:
        """Makes FILE.pem and FILE.key for hosts or a client; returns the former."""
        key = ec.generate_private_key(ec.SECP256R1())
        alternatives: list[x509.GeneralName] = []
        for name in names:
            try:
                alternatives.append(x509.IPAddress(ipaddress.ip_address(name)))
            except ValueError:
                alternatives.append(x509.DNSName(name))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            self.begin(subject, key, days).issuer_name(self.name)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False).sign(self.key, hashes.SHA256())
        )
        path = self.folder / f"{file}.pem"
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        key_file = self.folder / f"{file}.key"
        key_file.write_bytes(private)
        key_file.chmod(0o600)
        return path
