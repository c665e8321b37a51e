kubectl create namespace shop
kubectl -n shop create deployment payments-api --image=registry.k8s.io/pause:3.10
kubectl apply -f - <<'YAML'
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: billing-db, namespace: shop}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [192.0.2.40]}]
  healthCheck: {tcpSocket: {}, interval: 1s, unhealthyInterval: 1s}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: api, namespace: shop}
spec:
  dryRun: true
  targets: [{kind: Deployment, name: api}]
  triggers: [{name: moved, type: EndpointsChange, endpointsChange: {externalServiceName: billing-db}}]
YAML
kubectl -n shop wait externalservice billing-db --for=condition=Healthy --timeout=1m
