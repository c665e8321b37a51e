cp config/manager/config.yaml .
