// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package envtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/command"
)

// startOperator runs Fairlead in this process against an environment that has started. The returned
// function stops it and returns the error that it ended with, and its log.
func startOperator(ctx context.Context, env *envtest.Environment, folder string) (stop func() (string, error), err error) {
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(kubeconfig, env.KubeConfig, 0o600); err != nil {
		return nil, err
	}
	probes, err := freeAddress()
	if err != nil {
		return nil, err
	}
	webhooks := env.WebhookInstallOptions
	var log bytes.Buffer // written by one goroutine, and read after it has ended
	operator := command.Manager(command.Options{
		Logs:    &log,
		Metrics: prometheus.NewRegistry(), // so that several operators can follow each other in one process
	})
	operator.SilenceErrors, operator.SilenceUsage = true, true
	operator.SetArgs([]string{
		"--kubeconfig=" + kubeconfig,
		// The server and the certificate that envtest has told the API server of.
		"--set=webhook.host=" + webhooks.LocalServingHost,
		"--set=webhook.port=" + strconv.Itoa(webhooks.LocalServingPort),
		"--set=webhook.certificates.source=folder",
		"--set=webhook.certificates.folder=" + webhooks.LocalServingCertDir,
		"--set=webhook.certificates.dnsNames=localhost", // a name of that certificate
		"--set=webhook.certificates.injectCA=false",     // envtest has written every caBundle
		// One replica in a process that ends with its tests needs no election and no drain.
		"--leader-elect=false",
		"--set=webhook.drainDelay=0s",
		"--set=service.namespace=default",
		"--metrics-bind-address=0",
		"--health-probe-bind-address=" + probes,
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- operator.ExecuteContext(ctx) }()
	stop = func() (string, error) {
		cancel()
		err := <-ended
		return log.String(), err
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			ended <- err // for stop
			return false, fmt.Errorf("the operator ended: %w", err)
		default:
			return isReady(ctx, "http://"+probes+"/readyz"), nil
		}
	})
	if err != nil {
		text, stopErr := stop()
		return nil, fmt.Errorf("start the operator: %w (stopped with: %v); its log:\n%s", err, stopErr, text)
	}
	return stop, nil
}

func isReady(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// freeAddress returns an address of this host that was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
