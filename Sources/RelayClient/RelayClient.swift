// RelayClient
