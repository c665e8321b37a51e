// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// scene is a cluster in which something has happened, and the address at which a user looks at it.
type scene struct {
	*framework.Cluster
	address string
	// fairlead returns a command that runs as a user who may view.
	fairlead func(arguments ...string) *exec.Cmd
}

var open = framework.Shared(openScene)

const manifests = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
stringData: {PASSWORD: first}
---
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: orders-db, namespace: shop}
spec:
  ports: [{name: postgres, port: 5432}]
  endpoints:
  - {name: primary, addresses: [192.0.2.50]}
  - {name: standby, addresses: [192.0.2.51], priority: 1}
  healthCheck: {tcpSocket: {}, interval: 1s}
---
apiVersion: networking.fairlead.dev/v1
kind: ExternalService
metadata: {name: payments, namespace: shop}
spec:
  ports: [{name: https, port: 443}]
  endpoints: [{name: partner, addresses: [192.0.2.52]}]
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: login, namespace: shop}
spec:
  targets: [{kind: Deployment, name: web}, {kind: Deployment, name: worker, wave: 1}]
  triggers: [{name: login, type: ConfigChange}]
  gates: [{name: database, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: orders-db, type: Healthy}}]
  debounce: {quietPeriod: 0s}
  verification: {soak: 1s}
---
apiVersion: autoreboot.fairlead.dev/v1
kind: RebootPolicy
metadata: {name: nightly, namespace: shop}
spec:
  targets: [{kind: Deployment, name: checkout}]
  triggers: [{name: nightly, type: Schedule, schedule: {cron: "30 3 * * *", timeZone: Europe/Zurich}}]
---
apiVersion: chaos.fairlead.dev/v1
kind: ChaosPod
metadata: {name: web, namespace: shop}
spec:
  target: {workload: {kind: Deployment, name: web}}
  schedule: {cron: "*/30 9-16 * * 1-5", timeZone: Europe/Zurich}
`

func deployment(name string, replicas int, needs string) string {
	return fmt.Sprintf(`
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: shop, annotations: {fairlead.dev/depends-on: "%[3]s"}}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: main, image: registry.k8s.io/pause:3.10, envFrom: [{secretRef: {name: login}}]}]
`, name, replicas, needs)
}

// openScene restarts two Deployments for a Secret that changed, and then has the primary of the database refuse connections.
func openScene() (*scene, error) {
	c, err := tests.OpenReplicas(framework.Options{Cluster: cluster.Options{Nodes: 3, PodCIDR: "198.19.0.0/16"}})
	if err != nil {
		return nil, err
	}
	s := &scene{Cluster: c}
	primary, err := c.Servers.TCP("192.0.2.50:5432")
	if err != nil {
		return nil, err
	}
	if _, err = c.Servers.TCP("192.0.2.51:5432"); err != nil {
		return nil, err
	}
	for _, step := range []func() error{
		func() error {
			return s.kubectl(manifests+deployment("web", 3, "externalservice/orders-db,externalservice/payments")+
				deployment("checkout", 2, "externalservice/payments")+deployment("worker", 2, ""), "apply", "-f", "-")
		},
		func() error {
			return s.kubectl("", "wait", "-n", "shop", "--for=condition=Available", "deployment", "--all", "--timeout=2m")
		},
		func() error {
			return s.kubectl("", "wait", "-n", "shop", "--for=condition=Healthy", "externalservice/orders-db", "--timeout=1m")
		},
		func() error {
			return s.kubectl("", "wait", "-n", "shop", "--for=condition=Ready", "rebootpolicy", "--all", "--timeout=1m")
		},
		func() error {
			return s.kubectl("", "patch", "secret", "login", "-n", "shop", "--type=merge", "-p", `{"stringData": {"PASSWORD": "second"}}`)
		},
		func() error {
			return s.kubectl("", "wait", "-n", "shop", "--for=condition=Verified", "rebootpolicy/login", "--timeout=3m")
		},
		func() error { return primary.Set(externalnet.Behavior{Fault: externalnet.Refuse}) },
		func() error {
			return s.kubectl("", "wait", "-n", "shop", "--for=jsonpath={.status.history[0].type}=Failover", "externalservice/orders-db", "--timeout=1m")
		},
		func() error {
			return s.kubectl("", "create", "clusterrolebinding", "reader", "--clusterrole=view", "--user=reader")
		},
		s.look,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *scene) kubectl(stdin string, args ...string) error {
	return framework.Eventually(tests.Context, time.Minute, func(ctx context.Context) error {
		var stderr strings.Builder
		if err := s.KubectlIO(ctx, strings.NewReader(stdin), io.Discard, &stderr, args...); err != nil {
			return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
		}
		return nil
	})
}

// look starts fairlead ui as a user who may view.
func (s *scene) look() error {
	reader, err := s.User("reader")
	if err != nil {
		return err
	}
	program, err := filepath.Abs(filepath.Join(framework.Root, "bin", "fairlead"))
	if err != nil {
		return err
	}
	s.fairlead = func(arguments ...string) *exec.Cmd {
		command := exec.CommandContext(tests.Context, program, append(arguments, "--kubeconfig="+reader.Kubeconfig, "-n", "shop")...)
		command.Stderr = os.Stderr
		return command
	}
	command := s.fairlead("ui")
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	tests.AtEnd(func() error {
		if err := command.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return command.Wait()
	})
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return err
	}
	address, isOpen := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	if !isOpen {
		return fmt.Errorf("fairlead ui printed %q", line)
	}
	s.address = address
	return nil
}

func newTest(t *testing.T) (framework.Test, *scene) {
	t.Helper()
	s := open(t)
	return framework.Test{T: t, Cluster: s.Cluster}, s
}
