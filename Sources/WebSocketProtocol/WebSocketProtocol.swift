// WebSocketProtocol
