# An order of $12,000 over HTTP: given, approved by a manager, and followed to its end.
#
#     sh order.sh http://127.0.0.1:8700
set -eu
shop=${1:-http://127.0.0.1:8700}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
send() { curl --silent --show-error --fail-with-body --header 'Content-Type: application/json' "$@"; }

# The same key is the same order, however often it is sent.
order='{"goal": "order.received", "data": {"order_id": "A1", "sku": "lathe", "amount": 12000}}'
plan=$(send --header 'Idempotency-Key: order A1' --data "$order" "$shop/v1/plans" | field plan_id)
test "$plan" = "$(send --header 'Idempotency-Key: order A1' --data "$order" "$shop/v1/plans" | field plan_id)"
echo "plan $plan"

# Its events come until it asks; whoever reads no further hangs up.
send --no-buffer "$shop/v1/plans/$plan/events" 2>/dev/null | sed "/notification.human_input/q" >/dev/null
wait=$(send "$shop/v1/waits?limit=1" | field wait_id)
send --data '{"payload": {"approved": true}, "note": "a good customer"}' "$shop/v1/waits/$wait/answer"
echo
send "$shop/v1/plans/$plan/result?wait=30"
echo
