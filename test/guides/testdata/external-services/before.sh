kubectl create namespace shop
kubectl apply --server-side -f - <<'YAML'
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: billing-db, namespace: shop}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [192.0.2.10]}]
YAML
kubectl -n shop wait externalservice billing-db --for=condition=Ready --timeout=1m
