// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// ServerName is the name that the API server verifies the webhooks' certificates for.
const ServerName = "fairlead-webhook." + Namespace + ".svc"

// What carries CA bundles.
var (
	CRDs               = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	MutatingWebhooks   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	ValidatingWebhooks = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// Definitions are the CRDs of Fairlead's kinds.
var Definitions = []string{
	"externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev", "chaospods.chaos.fairlead.dev",
	"clusterrebootpolicies.autoreboot.fairlead.dev",
}

// WebhookConfigurations are the names of Fairlead's webhook configurations, mutating and validating ones.
var WebhookConfigurations = []string{"fairlead-externalservice", "fairlead-rebootpolicy", "fairlead-clusterrebootpolicy", "fairlead-chaospod"}

// Roles are the ClusterRoles of the operator.
var Roles = []string{
	"fairlead-manager", "fairlead-externalservice-manager", "fairlead-rebootpolicy-manager", "fairlead-clusterrebootpolicy-manager",
	"fairlead-chaospod-manager", "fairlead-canaries-manager",
}

// Trust are the CA bundles by which the API server trusts the webhooks. It follows them by watches, as the API
// server does: to read CRDs again and again would take a processor.
type Trust struct{ stores []cache.Store }

// FollowTrust returns once all bundles are read, and follows them until ctx ends.
func (c *Cluster) FollowTrust(ctx context.Context) (*Trust, error) {
	t := &Trust{}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.Dynamic, 0)
	for _, resource := range []schema.GroupVersionResource{CRDs, MutatingWebhooks, ValidatingWebhooks} {
		informer := factory.ForResource(resource).Informer()
		if err := informer.SetTransform(onlyBundles); err != nil {
			return nil, err
		}
		t.stores = append(t.stores, informer.GetStore())
	}
	factory.Start(ctx.Done())
	for resource, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("read %s: %w", resource.Resource, context.Cause(ctx))
		}
	}
	return t, nil
}

// bundlesOf is the field that onlyBundles adds.
const bundlesOf = "bundles"

// onlyBundles keeps of an object its metadata and its CA bundles. An informer may call it twice for one.
func onlyBundles(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil // the last state of one that was deleted
	}
	if _, done := whole.Object[bundlesOf]; done {
		return object, nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": whole.GetAPIVersion(), "kind": whole.GetKind(), "metadata": whole.Object["metadata"],
		bundlesOf: append(bundlesIn(whole.Object["spec"]), bundlesIn(whole.Object["webhooks"])...),
	}}, nil
}

// bundlesIn returns the caBundle of each clientConfig.
func bundlesIn(value any) (found []any) {
	switch value := value.(type) {
	case map[string]any:
		if config, is := value["clientConfig"].(map[string]any); is {
			bundle, _ := config["caBundle"].(string)
			return []any{bundle}
		}
		if conversion, is := value["conversion"].(map[string]any); is { // of a CRD, whose schemas have none
			return bundlesIn(conversion["webhook"])
		}
	case []any:
		for _, one := range value {
			found = append(found, bundlesIn(one)...)
		}
	}
	return found
}

// Handshake makes a TLS handshake with a webhook server by each bundle that there is now.
func (t *Trust) Handshake(ctx context.Context, address string) error {
	bundles := map[string]string{} // to the name of one object that carries it
	for _, store := range t.stores {
		for _, object := range store.List() {
			object := object.(*unstructured.Unstructured) //nolint:errcheck,forcetypeassert // what the informers hold
			encoded, _, _ := unstructured.NestedStringSlice(object.Object, bundlesOf)
			for _, one := range encoded {
				bundles[one] = object.GetName()
			}
		}
	}
	if len(bundles) == 0 {
		return errors.New("no object carries a CA bundle")
	}
	for encoded, name := range bundles {
		bundle, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return fmt.Errorf("%s: caBundle: %w", name, err)
		}
		if _, err := Presented(ctx, address, bundle); err != nil {
			return fmt.Errorf("%s by the bundle of %s: %w", address, name, err)
		}
	}
	return nil
}

// Presented returns the certificate that a webhook server presents to a client that trusts the bundle; nil trusts
// every server.
func Presented(ctx context.Context, address string, bundle []byte) (*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := &tls.Dialer{Config: &tls.Config{
		RootCAs: roots, ServerName: ServerName, MinVersion: tls.VersionTLS13,
		InsecureSkipVerify: bundle == nil, //nolint:gosec // a test asks what is presented
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil //nolint:errcheck,forcetypeassert // what the dialer returns
}
