// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// Etcd is the name of the component, and of its program.
const Etcd = "etcd"

// quiet is the environment of a component. It keeps the component's own calls on loopback: a webhook behind an ExternalName
// Service is called by the name of the Service, which a proxy of the environment would claim. It also has garbage collected
// less often, since there is little of it.
var quiet = []string{"NO_PROXY=*", "no_proxy=*", "GOGC=400"}

func etcd(c *Cluster) Spec {
	return Spec{
		Name: Etcd,
		Path: c.binaries.path(Etcd),
		Env:  quiet,
		Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			if err != nil {
				return nil, err
			}
			url := fmt.Sprintf("https://127.0.0.1:%d", port)
			c.mu.Lock()
			c.etcdURL = url
			c.mu.Unlock()
			return append([]string{
				"--data-dir=" + filepath.Join(c.folder, "etcd"),
				"--listen-client-urls=" + url,
				"--advertise-client-urls=" + url,
				"--client-cert-auth",
				"--trusted-ca-file=" + c.pki.file("etcd-ca.crt"),
				"--cert-file=" + c.pki.file("etcd.crt"),
				"--key-file=" + c.pki.file("etcd.key"),
				// A single member never dials its peer port, so the kernel may choose it.
				"--listen-peer-urls=https://127.0.0.1:0",
				"--peer-client-cert-auth",
				"--peer-trusted-ca-file=" + c.pki.file("etcd-ca.crt"),
				"--peer-cert-file=" + c.pki.file("etcd.crt"),
				"--peer-key-file=" + c.pki.file("etcd.key"),
				// What a power failure would lose is thrown away at Stop anyway.
				"--unsafe-no-fsync",
			}, c.options.EtcdFlags...), nil
		},
		Ready: func(ctx context.Context) error {
			c.mu.Lock()
			url := c.etcdURL
			c.mu.Unlock()
			return get(ctx, c.pki.etcd, c.pki.etcdClient, url+"/health")
		},
	}
}
