"""The certificate of the answer endpoint: loading it, and the fingerprint that a Proxmox installer pins."""

from __future__ import annotations

import hashlib
import re
import ssl
import time
from calendar import timegm
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from answerd.config import Config

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")

_STRICT = getattr(ssl, "VERIFY_X509_STRICT", 0)
"""Set by Python from 3.13 on, and refuses authorities that other programs take."""

_MOST_FLIGHTS = 10
"""Turns of a TLS handshake: TLS 1.3 has two, 1.2 three."""

_VERSION, _UTC_TIME, _LONG_FORM = 0xA0, 0x17, 0x80  # of DER (X.690): the tags, and the bit of a long length

_WORDS = {
    "KEY_VALUES_MISMATCH": "the key does not belong to the certificate",
    "NO_CERTIFICATE_ASSIGNED": "the key does not belong to the certificate",
    "KEY_TYPE_MISMATCH": "the key does not belong to the certificate",
    "EE_KEY_TOO_SMALL": "the certificate's key is too short to be safe",
    "CA_MD_TOO_WEAK": "the certificate is signed with a digest that is too weak",
}
"""OpenSSL's codes for a wrong pair, in words for an operator."""


class CertificateError(Exception):
    """A certificate and its key cannot be used. One sentence that names the file."""


class Certificate(NamedTuple):
    """A pair ready for use. ``fingerprint`` has the form that ``cert-fingerprint`` of an installer takes;
    ``expiry`` is in seconds since 1970, None where it cannot be read."""

    context: ssl.SSLContext
    fingerprint: str
    expiry: float | None = None

    def is_trusted(self) -> bool:
        """Return whether a client of this system takes the certificate, whatever the name that it is for."""
        client = ssl.create_default_context()
        client.check_hostname = False
        client.verify_flags &= ~_STRICT
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        here = self.context.wrap_bio(to_server, to_client, server_side=True)
        there = client.wrap_bio(to_client, to_server)
        for _ in range(_MOST_FLIGHTS):
            try:
                there.do_handshake()
            except ssl.SSLWantReadError:
                with suppress(ssl.SSLWantReadError):
                    here.do_handshake()
            except ssl.SSLError:
                return False
            else:
                return True
        return False


def configured_certificate(config: Config) -> Certificate | None:
    """Return the configured certificate with its key, None without. Raises `CertificateError`."""
    if config.tls_cert is None or config.tls_key is None:
        return None
    return load_certificate(config.tls_cert, config.tls_key)


def load_certificate(certificate: str, key: str) -> Certificate:
    """Load a pair of PEM files; the certificate's may hold its chain, the key's must not be encrypted.

    Raises `CertificateError`.
    """
    found = _CERTIFICATE.search(_read("SERVICE_TLS_CERT", certificate))
    if not found:
        raise CertificateError(f"SERVICE_TLS_CERT: {certificate} holds no PEM certificate")
    if not _KEY.search(_read("SERVICE_TLS_KEY", key)):
        raise CertificateError(f"SERVICE_TLS_KEY: {key} holds no PEM private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # Debian's Python leaves it to /etc/ssl/openssl.cnf
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
        return Certificate(context, fingerprint(found[0]), expiry(found[0]))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise CertificateError(f"SERVICE_TLS_CERT={certificate} with SERVICE_TLS_KEY={key}: {_reason(error)}") from None


def fingerprint(pem: str) -> str:
    """SHA-256 over the DER of one PEM certificate, as ``AB:CD:…``. Raises ValueError.

    The installer compares nothing else (proxmox-installer-common, ``http.rs``).
    """
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).digest().hex(":").upper()


def expiry(pem: str) -> float | None:
    """Return when one PEM certificate ends, in seconds since 1970; None where that cannot be read."""
    try:
        _, certificate, _ = _element(ssl.PEM_cert_to_DER_cert(pem))
        _, fields, _ = _element(certificate)
        kind, _, rest = _element(fields)
        for _ in range(3 if kind == _VERSION else 2):  # serial number, signature algorithm, issuer
            _, _, rest = _element(rest)
        _, validity, _ = _element(rest)
        _, _, rest = _element(validity)
        kind, text, _ = _element(rest)
        form = "%y%m%d%H%M%SZ" if kind == _UTC_TIME else "%Y%m%d%H%M%SZ"
        return float(timegm(time.strptime(text.decode("ascii"), form)))
    except (IndexError, ValueError):
        return None


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and the content of the first DER element, and what is behind it. Raises IndexError."""
    tag, length, start = der[0], der[1], 2
    if length & _LONG_FORM:
        start += length & ~_LONG_FORM
        length = int.from_bytes(der[2:start])
    return tag, der[start : start + length], der[start + length :]


def _read(setting: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise CertificateError(f"{setting}: {path} cannot be read: {error.strerror}") from None


def _no_password() -> str:
    # OpenSSL would ask for it on the terminal, and the service would hang at its start.
    raise ssl.SSLError(0, "the key is encrypted, and a service cannot ask for its password")


def _reason(error: OSError | ValueError) -> str:
    name = getattr(error, "reason", None)
    words = _WORDS.get(name or "") or name or getattr(error, "strerror", None) or str(error)
    return f"not a PEM pair that can be used ({words})" if words.startswith("[SSL]") else words
