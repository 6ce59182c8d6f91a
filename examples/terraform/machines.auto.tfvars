machines = {
  vm-01 = { mac = "52:54:00:30:00:01", role = "web" }
  vm-02 = { mac = "52:54:00:30:00:02", role = "db" }
}
