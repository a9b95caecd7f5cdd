// HTTPTransport
