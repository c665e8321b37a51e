// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// namespaceFile is where the kubelet writes the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// place is where this process runs.
type place struct {
	namespace      string // of the operator: its Service, Secrets and pods
	leaseNamespace string
	identity       string
	pod            string // empty outside a pod
}

// locatePlace resolves what the configuration leaves to the environment.
func locatePlace(c *options.Configuration, getenv func(string) string, file string) (place, error) {
	p := place{
		namespace: c.Service.Namespace,
		identity:  c.LeaderElection.ID,
		pod:       getenv("POD_NAME"),
	}
	if p.namespace == "" {
		p.namespace = getenv("POD_NAMESPACE")
	}
	if p.namespace == "" {
		content, err := os.ReadFile(file) //nolint:gosec // a constant, but for the tests
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return place{}, fmt.Errorf("namespace of the operator: %w", err)
		}
		p.namespace = strings.TrimSpace(string(content))
	}
	if p.namespace == "" {
		return place{}, errors.New("the namespace of the operator is not known outside a pod: give it with --service-namespace or POD_NAMESPACE")
	}
	if p.leaseNamespace = c.LeaderElection.ResourceNamespace; p.leaseNamespace == "" {
		p.leaseNamespace = p.namespace
	}
	if p.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return place{}, fmt.Errorf("identity of this replica: %w; give one with --id", err)
		}
		p.identity = host + "_" + string(uuid.NewUUID())
	}
	return p, nil
}
