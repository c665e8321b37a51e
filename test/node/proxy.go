// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

const proxyHealth = "127.0.0.1:10256"

// proxy runs kube-proxy with nothing but what a namespace of its own asks for: its pace is the
// shipped one, since that is what is measured.
func (n *Node) proxy() (cluster.Spec, error) {
	user, err := n.User("system:kube-proxy")
	if err != nil {
		return cluster.Spec{}, err
	}
	config, err := configuration(kubeProxy, map[string]any{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"mode":               "nftables",
		"clientConnection":   map[string]any{"kubeconfig": user.Kubeconfig},
		"clusterCIDR":        podRange,
		"hostnameOverride":   Name,
		"healthzBindAddress": proxyHealth,
		"metricsBindAddress": "127.0.0.1:10249",
		// The kernel's limits on connections are the machine's, and stay as they are.
		"conntrack": map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
	})
	if err != nil {
		return cluster.Spec{}, err
	}
	return cluster.Spec{
		Name: kubeProxy,
		Path: n.programs.path(kubeProxy),
		Env:  n.programs.environment(),
		Args: func() ([]string, error) { return []string{"--config=" + config}, nil },
		Ready: func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proxyHealth+"/healthz", nil)
			if err != nil {
				return err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return err
			}
			if err := response.Body.Close(); err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("kube-proxy: %s", response.Status)
			}
			return nil
		},
	}, nil
}
