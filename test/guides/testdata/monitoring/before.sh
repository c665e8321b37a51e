kubectl create namespace monitoring
