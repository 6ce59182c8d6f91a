# Rows of machines that Terraform makes (docs/terraform.md). The token is in the environment: Terraform keeps no secret.

terraform {
  required_version = ">= 1.4"
}

variable "api" {
  description = "The admin API of the service."
  type        = string
  default     = "http://127.0.0.1:8001"
}

variable "machines" {
  description = "The row of each machine by its name: its MAC address, and the columns that documents use."
  type        = map(map(string))
}

# Made with the machine and removed with it. It has no triggers: a machine that changes is never without a row.
resource "terraform_data" "machine" {
  for_each = var.machines
  input    = "${var.api}/inventory/terraform/${urlencode(each.key)}"

  provisioner "local-exec" {
    when    = destroy
    command = "curl -sS --fail-with-body -X DELETE -H \"Authorization: Bearer $SERVICE_ADMIN_TOKEN\" \"$URL\""

    environment = { URL = self.output }
  }
}

# Written anew whenever the row changes.
resource "terraform_data" "row" {
  for_each         = var.machines
  triggers_replace = merge(each.value, { id = each.key })

  provisioner "local-exec" {
    command = "curl -sS --fail-with-body -X PUT -H \"Authorization: Bearer $SERVICE_ADMIN_TOKEN\" -d \"$ROW\" \"$URL\""

    environment = {
      URL = terraform_data.machine[each.key].output
      ROW = jsonencode(self.triggers_replace)
    }
  }
}
