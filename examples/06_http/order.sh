# An order of $12,000 over HTTP: given, approved by a manager, and followed to its end.
#
#     sh order.sh http://127.0.0.1:8700
set -eu
shop=${1:-http://127.0.0.1:8700}
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
send() { curl --silent --show-error --fail-with-body --header 'Content-Type: application/json' "$@"; }

# The same key is the same order, however often it is sent.
order='{"goal": "order.received", "data": {"order_id": "A1", "sku": "lathe", "amount": "12000.00"}}'
plan=$(send --header 'Idempotency-Key: order A1' --data "$order" "$shop/v1/plans" | field plan_id)
test "$plan" = "$(send --header 'Idempotency-Key: order A1' --data "$order" "$shop/v1/plans" | field plan_id)"
echo "plan $plan"

# It asks a manager before it pays. The end of a plan that waits does not come, so a second is over then.
wait=
while test -z "$wait"; do
    send "$shop/v1/plans/$plan/result?wait=1" >/dev/null
    wait=$(send "$shop/v1/waits?limit=1" | field wait_id)
done
send --data '{"payload": {"approved": true}, "note": "a good customer"}' "$shop/v1/waits/$wait/answer"
echo
send "$shop/v1/plans/$plan/result?wait=30"
echo
