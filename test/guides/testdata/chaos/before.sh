kubectl create namespace shop
kubectl apply -f - <<'YAML'
apiVersion: chaos.fairlead.dev/v1
kind: ChaosPod
metadata: {name: payments-api, namespace: shop}
spec:
  target: {workload: {kind: Deployment, name: payments-api}}
  schedule: {cron: "*/30 9-16 * * 1-5", timeZone: Europe/Zurich}
YAML
kubectl -n shop wait chaospod payments-api --for=jsonpath='{.status.observedGeneration}'=1 --timeout=1m
