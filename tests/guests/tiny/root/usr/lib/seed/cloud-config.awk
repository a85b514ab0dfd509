# Reads the part of #cloud-config that tiny knows, and prints lines of KIND<tab>VALUE:
#   hostname NAME, fqdn NAME, password USER:PASSWORD, key LINE, run SHELL LINE
# It is no YAML parser: block style, lists of one line in brackets, quoted or plain scalars.

# Takes quotes and comments off a scalar.
function scalar(v) {
  sub(/^[ \t]+/, "", v)
  if (v ~ /^"/) {
    sub(/^"/, "", v); sub(/"[ \t]*(#.*)?$/, "", v)
    gsub(/\\"/, "\"", v); gsub(/\\\\/, "\\", v)
  } else if (v ~ /^'/) {
    sub(/^'/, "", v); sub(/'[ \t]*(#.*)?$/, "", v)
    gsub(/''/, "'", v)
  } else {
    sub(/^#.*/, "", v); sub(/[ \t]+#.*$/, "", v); sub(/[ \t]+$/, "", v)
  }
  return v
}
# Splits [a, "b, c"] into items; gives their number.
function flow(v, items,    n, i, c, quote, item) {
  sub(/^[ \t]*\[/, "", v); sub(/\][ \t]*(#.*)?$/, "", v)
  n = 0; quote = ""; item = ""
  for (i = 1; i <= length(v); i++) {
    c = substr(v, i, 1)
    if (quote != "") { if (c == quote) quote = "" }
    else if (c == "\"" || c == "'") quote = c
    else if (c == ",") { items[++n] = scalar(item); item = ""; continue }
    item = item c
  }
  if (item ~ /[^ \t]/) items[++n] = scalar(item)
  return n
}
function word(v) { gsub(/'/, "'\"'\"'", v); return "'" v "'" }
function words(v,    items, n, i, line) {
  n = flow(v, items)
  for (i = 1; i <= n; i++) line = line (i > 1 ? " " : "") word(items[i])
  return line
}
function put(kind, v) { if (v != "") print kind "\t" v }
# A user with a password is complete once both are known, in either order.
function user_done() {
  if (user != "" && secret != "") put("password", user ":" secret)
  user = ""; secret = ""
}
# Ends a command that was given as a list in block style.
function command_done() { if (command != "") put("run", command); command = "" }

{ match($0, /^ */); indent = RLENGTH }

# The lines of a block (`key: |`), as they are.
block != "" {
  if ($0 ~ /^[ \t]*$/) next
  if (indent > block_indent) {
    if (!text_indent) text_indent = indent
    put(block, substr($0, text_indent + 1))
    next
  }
  block = ""; text_indent = 0
}
/^[ \t]*(#.*)?$/ { next }

/^[A-Za-z_][A-Za-z0-9_-]*[ \t]*:/ {
  user_done(); command_done()
  section = $0; sub(/[ \t]*:.*/, "", section)
  value = $0; sub(/^[^:]*:[ \t]*/, "", value)
  part = ""
  if (section == "hostname") put("hostname", scalar(value))
  else if (section == "fqdn") put("fqdn", scalar(value))
  else if (section == "password" && scalar(value) != "") put("password", "root:" scalar(value))
  else if (section == "ssh_authorized_keys" && value ~ /^\[/) {
    n = flow(value, keys); for (i = 1; i <= n; i++) put("key", keys[i])
  }
  next
}

# Keys count wherever they stand: of the users there is only root.
/^ *(- *)?ssh[_-]authorized[_-]keys[ \t]*:/ {
  part = "keys"; part_indent = indent
  value = $0; sub(/^[^:]*:[ \t]*/, "", value)
  if (value ~ /^\[/) { n = flow(value, keys); for (i = 1; i <= n; i++) put("key", keys[i]) }
  next
}
part == "keys" && /^ *-[ \t]/ && indent >= part_indent {
  value = $0; sub(/^ *-[ \t]+/, "", value)
  if (scalar(value) ~ /^(ssh|ecdsa|sk)-/) { put("key", scalar(value)); next }
}
section == "ssh_authorized_keys" && /^ *-[ \t]/ {
  value = $0; sub(/^ *-[ \t]+/, "", value)
  put("key", scalar(value)); next
}

section == "chpasswd" && /^ *list[ \t]*:/ {
  if ($0 ~ /[|>][-+]?[ \t]*$/) { block = "password"; block_indent = indent }
  part = "list"; next
}
section == "chpasswd" && /^ *users[ \t]*:/ { part = "users"; next }
section == "chpasswd" && part == "list" && /^ *-[ \t]/ {
  value = $0; sub(/^ *-[ \t]+/, "", value); put("password", scalar(value)); next
}
section == "chpasswd" && part == "users" {
  value = $0
  if (value ~ /^ *-[ \t]/) { user_done(); sub(/^ *-[ \t]+/, "", value) }
  if (value ~ /^ *\{/) {
    sub(/^ *\{/, "", value); sub(/\}[ \t]*$/, "", value)
    n = flow(value, pairs)
  } else { n = 1; pairs[1] = value }
  for (i = 1; i <= n; i++) {
    key = pairs[i]; sub(/[ \t]*:.*/, "", key); gsub(/[ \t]/, "", key)
    value = pairs[i]; sub(/^[^:]*:[ \t]*/, "", value)
    if (key == "name") user = scalar(value)
    if (key == "password") secret = scalar(value)
  }
  next
}

section == "runcmd" && /^ *- *- / {
  command_done(); command_indent = indent
  value = $0; sub(/^ *- *- +/, "", value); command = word(scalar(value)); next
}
section == "runcmd" && command != "" && /^ *-[ \t]/ && indent > command_indent {
  value = $0; sub(/^ *-[ \t]+/, "", value); command = command " " word(scalar(value)); next
}
section == "runcmd" && /^ *-[ \t]/ {
  command_done()
  value = $0; sub(/^ *-[ \t]+/, "", value)
  if (value ~ /^\[/) put("run", words(value))
  else if (value ~ /^[|>][-+]?[ \t]*$/) { block = "run"; block_indent = indent }
  else put("run", scalar(value))
}
END { user_done(); command_done() }
