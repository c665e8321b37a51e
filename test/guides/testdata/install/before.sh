mkdir configured
cp config/manager/config.yaml configured/
