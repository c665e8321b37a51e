kubectl create namespace shop
kubectl apply -f - <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
  namespace: shop
  annotations:
    reloader.stakater.com/auto: "true"
    deployment.reloader.stakater.com/pause-period: 5m
    deployment.reloader.stakater.com/paused-at: "2026-11-27T20:00:00Z"
spec:
  paused: true
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec: {containers: [{name: a, image: a}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: paused-by-a-user, namespace: shop}
spec:
  paused: true
  selector: {matchLabels: {app: paused}}
  template:
    metadata: {labels: {app: paused}}
    spec: {containers: [{name: a, image: a}]}
YAML
