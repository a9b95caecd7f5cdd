// HTTPProtocol
