// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
)

// connection is how the API server is reached.
type connection struct {
	rest   *rest.Config
	origin string // where it was found, for errors
}

// connect finds the API server: the kubeconfig that was named, KUBECONFIG, the pod's service
// account, or ~/.kube/config. It reads files and sends nothing.
func connect(c options.ClientConnection, userAgent string) (*connection, error) {
	found, err := locate(c.Kubeconfig)
	if err != nil {
		return nil, err
	}
	found.rest.UserAgent = userAgent
	return found, nil
}

func locate(kubeconfig string) (*connection, error) {
	if kubeconfig != "" {
		return fromFile(&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, "kubeconfig "+kubeconfig)
	}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); env != "" {
		rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(env), WarnIfAllMissing: false}
		return fromFile(rules, "KUBECONFIG "+env)
	}
	switch inside, err := rest.InClusterConfig(); {
	case err == nil:
		return &connection{inside, "service account of the pod"}, nil
	case !errors.Is(err, rest.ErrNotInCluster):
		return nil, fmt.Errorf("service account of the pod: %w", err)
	}
	home := clientcmd.RecommendedHomeFile
	if _, err := os.Stat(home); err != nil {
		return nil, errors.New("no cluster: there is no --kubeconfig, no KUBECONFIG variable, no service account of a pod and no " + home)
	}
	return fromFile(&clientcmd.ClientConfigLoadingRules{ExplicitPath: home}, "kubeconfig "+home)
}

func fromFile(rules *clientcmd.ClientConfigLoadingRules, origin string) (*connection, error) {
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return &connection{loaded, origin}, nil
}

// limited is the configuration of the reconcilers' client.
func (c *connection) limited(by options.ClientConnection) *rest.Config {
	limited := rest.CopyConfig(c.rest)
	limited.QPS, limited.Burst = by.QPS, by.Burst
	return limited
}

// unlimited is the configuration for election, certificates and the metrics server, which send
// little and must not queue behind reconcilers.
func (c *connection) unlimited() *rest.Config {
	unlimited := rest.CopyConfig(c.rest)
	unlimited.QPS = -1
	return unlimited
}

// binary asks for protobuf, which the kinds of Kubernetes can be read in and ours cannot.
func binary(api *rest.Config) *rest.Config {
	api = rest.CopyConfig(api)
	api.ContentType = runtime.ContentTypeProtobuf
	api.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return api
}
