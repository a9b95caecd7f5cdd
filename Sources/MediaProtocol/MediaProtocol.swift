// MediaProtocol
