// TLSTransport
