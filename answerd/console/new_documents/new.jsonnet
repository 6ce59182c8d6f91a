{
  product: { id: "Leap_16.0" },
  root: { password: "{{ secret.root-hash }}", hashedPassword: true },
}
