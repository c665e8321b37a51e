kubectl create namespace shop
kubectl apply -f extra.json
