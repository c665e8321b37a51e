kubectl create namespace shop
kubectl -n shop create secret generic shared-creds --from-literal=password=first
kubectl apply -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: payments, namespace: shop, labels: {app.kubernetes.io/part-of: payments}}
spec:
  selector: {matchLabels: {app: payments}}
  template:
    metadata: {labels: {app: payments}}
    spec: {containers: [{name: a, image: a}]}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: payments, namespace: shop}
spec:
  targets: [{kind: Deployment, selector: {matchLabels: {app.kubernetes.io/part-of: payments}}}]
  triggers: [{name: config, type: ConfigChange}]
  debounce: {quietPeriod: 1s}
  cooldown: 0s
  verification: {soak: 1s}
YAML
kubectl -n shop rollout status deployment payments --timeout=2m
kubectl -n shop wait rebootpolicy payments --for=condition=Ready --timeout=1m
