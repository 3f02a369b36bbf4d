# shellcheck shell=bash disable=SC2034,SC2154
# A headless Chromium, driven through its WebDriver interface. Expects $place and free_port of tests/lib/dashboard.sh.

# Why there is no browser; nothing if there is one.
no_browser() {
  local program
  for program in chromium chromedriver; do
    command -v "$program" >/dev/null || { echo "$program is not installed (Debian: chromium, chromium-driver)" && return; }
  done
}

browser_begin() { # browser_begin: sets $browser_pid and $session
  local port
  port=$(free_port)
  chromedriver --port="$port" --log-path="$place/chromedriver.log" >/dev/null 2>&1 </dev/null &
  browser_pid=$!
  driver=http://127.0.0.1:$port
  until_true "chromedriver does not answer" curl -sf -o /dev/null "$driver/status"
  session=$(jq -n --arg home "$place/chromium" '{ capabilities: { alwaysMatch: { browserName: "chrome", "goog:loggingPrefs": { browser: "ALL" },
    "goog:chromeOptions": { args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1280,1000", "--user-data-dir=" + $home] } } } }' |
    curl -sS --max-time 60 -d @- "$driver/session" | jq -r .value.sessionId)
  [ "$session" != null ] || fail "Chromium does not start: $(tail -n 5 "$place/chromedriver.log")"
}

browser_end() {
  [ -z "${session:-}" ] || curl -sS --max-time 10 -o /dev/null -X DELETE "$driver/session/$session" || :
  [ -z "${browser_pid:-}" ] || kill "$browser_pid" 2>/dev/null || :
}

webdriver() { curl -sS --max-time 60 -H 'Content-Type: application/json' -d "$2" "$driver/session/$session/$1"; } # webdriver PATH JSON

visit() { webdriver url "$(jq -n --arg url "$1" '{ url: $url }')" >/dev/null; }

# script BODY: its result, as JSON.
script() { webdriver execute/sync "$(jq -n --arg script "$1" '{ script: $script, args: [] }')" | jq -c .value; }

# holds EXPRESSION: whether it is true in the page.
holds() { [ "$(script "return Boolean($1)")" = true ]; }

# press KEY [TIMES]: Tab is U+E004, Enter U+E007.
press() {
  webdriver actions "$(jq -n --arg key "$1" --argjson times "${2:-1}" '{ actions: [{ type: "key", id: "keyboard",
    actions: [range($times) | { type: "keyDown", value: $key }, { type: "keyUp", value: $key }] }] }')" >/dev/null
}

protocol() { webdriver goog/cdp/execute "$(jq -n --arg cmd "$1" --argjson params "$2" '{ cmd: $cmd, params: $params }')" | jq -c .value; } # protocol COMMAND JSON

screenshot() { curl -sS --max-time 60 "$driver/session/$session/screenshot" | jq -r .value | base64 -d >"$1"; }

# Errors and warnings of the page since the last call.
console() { webdriver se/log '{"type":"browser"}' | jq -r '.value[] | select(.level == "SEVERE" or .level == "WARNING") | .message'; }
