// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// Name of the node.
const Name = "node-1"

// Logs is where the kubelet keeps what containers print, inside.
const Logs = "/var/log/pods"

func (n *Node) kubelet() (cluster.Spec, error) {
	user, err := n.User("system:node:"+Name, "system:nodes")
	if err != nil {
		return cluster.Spec{}, err
	}
	ca := filepath.Join(state, "ca.crt")
	if err := os.WriteFile(ca, n.CA(), 0o600); err != nil {
		return cluster.Spec{}, fmt.Errorf("kubelet: %w", err)
	}
	config, err := configuration("kubelet", map[string]any{
		"apiVersion":               "kubelet.config.k8s.io/v1beta1",
		"kind":                     "KubeletConfiguration",
		"address":                  Address,
		"authentication":           map[string]any{"anonymous": off, "webhook": off, "x509": map[string]any{"clientCAFile": ca}},
		"authorization":            map[string]any{"mode": "AlwaysAllow"},
		"containerRuntimeEndpoint": "unix://" + socket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + n.group,
		// Where the machine still has version 1.
		"failCgroupV1":           false,
		"failSwapOn":             false,
		"enforceNodeAllocatable": []string{},
		"makeIPTablesUtilChains": false,
		"resolvConf":             "",
		"clusterDNS":             []string{Address},
		"clusterDomain":          domain,
		"registerNode":           true,
		"oomScoreAdj":            0,
		"healthzBindAddress":     "127.0.0.1",
		// The disks of the machine are not the node's affair.
		"evictionHard":                map[string]any{"memory.available": "100Mi"},
		"imageGCHighThresholdPercent": 100,
		"volumePluginDir":             filepath.Join(state, "volume-plugins"),
	})
	if err != nil {
		return cluster.Spec{}, err
	}
	root := filepath.Join(state, kubelet)
	return cluster.Spec{
		Name: kubelet,
		Path: n.programs.path(kubelet),
		Env:  n.programs.environment(),
		Args: func() ([]string, error) {
			return []string{"--config=" + config, "--kubeconfig=" + user.Kubeconfig, "--hostname-override=" + Name, "--node-ip=" + Address,
				"--root-dir=" + root, "--cert-dir=" + filepath.Join(root, "pki")}, nil
		},
		Ready: func(ctx context.Context) error {
			ready, err := n.Kubectl(ctx, "get", "node", Name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")]}`)
			if err == nil && !strings.Contains(ready, `"status":"True"`) {
				err = fmt.Errorf("node %s: %s", Name, ready)
			}
			return err
		},
	}, nil
}

var off = map[string]any{"enabled": false}

// configuration writes a component's configuration and returns its path.
func configuration(name string, content map[string]any) (string, error) {
	path := filepath.Join(state, name+".json")
	raw, err := json.MarshalIndent(content, "", " ")
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", name, err)
	}
	return path, nil
}
