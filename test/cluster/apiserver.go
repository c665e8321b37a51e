// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// APIServer is the name of the component, and of its program.
const APIServer = "kube-apiserver"

// ServiceCIDRs are the ranges of the ClusterIPs of both families; IPv4 is the first.
const ServiceCIDRs = "10.96.0.0/16,fd00:10:96::/112"

func apiServer(c *Cluster) Spec {
	return Spec{
		Name: APIServer,
		Path: c.binaries.path(APIServer),
		// A fifth of its work in the suites would be to collect garbage, and a seventh with 200.
		Env: append(slices.Clone(quiet), "GOMEMLIMIT=2GiB"),
		Args: func() ([]string, error) {
			port, err := loopback.FreePort()
			if err != nil {
				return nil, err
			}
			if err := c.setURL(fmt.Sprintf("https://127.0.0.1:%d", port)); err != nil {
				return nil, err
			}
			return append(c.apiServerArgs(port), c.options.APIServerFlags...), nil
		},
		// On a busy machine one of its hooks may give up, and the process with it.
		Attempts: 3,
		// A cluster without its first namespace is of no use, and /readyz does not wait for it.
		Ready: func(ctx context.Context) error {
			if err := c.get(ctx, "/readyz"); err != nil {
				return err
			}
			return c.get(ctx, "/api/v1/namespaces/default")
		},
	}
}

// setURL is known only now, and the administrator's kubeconfig names it.
func (c *Cluster) setURL(url string) error {
	c.mu.Lock()
	c.url = url
	c.mu.Unlock()
	admin, err := c.newUser(filepath.Join(c.folder, "kubeconfig"), "local-admin", []string{"system:masters"})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.admin = admin
	c.mu.Unlock()
	return nil
}

func (c *Cluster) apiServerArgs(port int) []string {
	c.mu.Lock()
	etcdURL := c.etcdURL
	c.mu.Unlock()
	args := []string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.pki.file("apiserver.crt"),
		"--tls-private-key-file=" + c.pki.file("apiserver.key"),
		"--client-ca-file=" + c.pki.file("ca.crt"),
		"--etcd-servers=" + etcdURL,
		"--etcd-cafile=" + c.pki.file("etcd-ca.crt"),
		"--etcd-certfile=" + c.pki.file("etcd-client.crt"),
		"--etcd-keyfile=" + c.pki.file("etcd-client.key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki.file("service-account.key"),
		"--service-account-signing-key-file=" + c.pki.file("service-account.key"),
		"--service-cluster-ip-range=" + ServiceCIDRs,
		// A loopback address is no valid endpoint of the Service "kubernetes": without this the
		// server keeps trying, and logging that it failed.
		"--endpoint-reconciler-type=none",
		// Without this a stop waits, for a minute, for watches that never end by themselves.
		"--shutdown-watch-termination-grace-period=1s",
	}
	if c.options.WithoutControllerManager {
		// No controller makes the ServiceAccount that this plugin would demand of every pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if c.options.AuditPolicy != "" {
		args = append(args, "--audit-policy-file="+c.options.AuditPolicy, "--audit-log-path="+c.AuditLog(),
			"--audit-log-mode=blocking")
	}
	return args
}

// AuditLog is the path of the audit log, one JSON event a line. It exists with Options.AuditPolicy.
func (c *Cluster) AuditLog() string { return filepath.Join(c.logs, "audit.jsonl") }

// get asks the API server as the administrator.
func (c *Cluster) get(ctx context.Context, path string) error {
	admin := c.Admin()
	return get(ctx, c.pki.ca, pair{cert: admin.Cert, key: admin.Key}, c.URL()+path)
}
