// RelayRooms
