kubectl create namespace shop
kubectl apply -f - <<'YAML'
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: db, namespace: shop}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints: [{name: primary, addresses: [192.0.2.10]}]
YAML
kubectl apply -f - <<'YAML'
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: payments, namespace: shop}
spec:
  targets: [{kind: Deployment, name: payments}]
  triggers: [{name: config, type: ConfigChange}]
YAML
