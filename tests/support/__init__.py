"""What tests are made of: streams, clients, servers on loopback."""
