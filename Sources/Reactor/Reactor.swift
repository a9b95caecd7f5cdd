// Reactor
