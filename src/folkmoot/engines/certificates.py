"""Whether a certificate is that of a party: FLARE issues some to the server and to administrators too."""

from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from folkmoot.foundation.errors import InputError

ROLE = NameOID.UNSTRUCTURED_NAME  # where FLARE writes what a certificate is for; provisioning leaves it out for clients
CLIENT = "client"
LEAST_BITS = 2048


def read_certificate(pem: str) -> x509.Certificate:
    """A single certificate, in the only way that it can be written."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        if certificate.public_bytes(Encoding.PEM).decode() == pem:
            return certificate
    except ValueError:
        pass
    raise InputError("has no readable certificate")


def check_certificate(
    certificate: x509.Certificate, root: x509.Certificate, name: str, now: datetime | None
) -> rsa.RSAPublicKey:
    """The key of a certificate that this root issued to the client of this name, and that is valid now (None: that was
    checked before); anything else is refused.
    """
    try:
        certificate.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        raise InputError("has a certificate that the root of this federation did not issue") from None
    if now is not None and not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        raise InputError(f"has a certificate that is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d} only")
    if [one.value for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] != [name]:
        raise InputError("has the certificate of somebody else")
    if not is_for_client(certificate, name):
        raise InputError("has a certificate that is not for a party")
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size < LEAST_BITS:
        raise InputError(f"has a certificate without an RSA key of {LEAST_BITS} bits")
    return key


def is_for_client(certificate: x509.Certificate, name: str) -> bool:
    """Administrators have a role, the server's names are hosts, and the root's may issue others. A client has at most
    the role of a client, and no name but its own.
    """
    if any(one.value != CLIENT for one in certificate.subject.get_attributes_for_oid(ROLE)):
        return False
    try:
        extensions = [one.value for one in certificate.extensions]
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        return False
    for value in extensions:
        if isinstance(value, x509.BasicConstraints) and value.ca:
            return False
        if isinstance(value, x509.SubjectAlternativeName) and list(value) != [x509.DNSName(name)]:
            return False
    return True
