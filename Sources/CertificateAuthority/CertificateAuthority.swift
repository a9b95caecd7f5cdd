// CertificateAuthority
