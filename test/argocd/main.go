// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Program argocd compares manifests with a cluster by Argo CD's own library, the way its application
// controller does: with a client-side diff, and as with the sync option ServerSideApply=true.
//
// It reads a stream of manifests, each with its namespace, and writes one line of JSON for each: the
// object, and the patch by either diff, which is {} where Argo CD calls it Synced.
//
// It is a module of its own: Argo CD wants other versions of the Kubernetes libraries than the operator
// does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kube-openapi/pkg/util/proto"
)

// manager is the field manager of Argo CD's server-side apply.
const manager = "argocd-controller"

// verdict is one line of output.
type verdict struct {
	Object                      string
	ClientSide, ServerSideApply json.RawMessage
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "File that says how to reach the cluster.")
	flag.Parse()
	if err := run(context.Background(), *kubeconfig, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "argocd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, in io.Reader, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	parser, err := schemas(client)
	if err != nil {
		return err
	}
	decoder, encoder := yaml.NewYAMLOrJSONDecoder(in, 4096), json.NewEncoder(out)
	for {
		manifest := &unstructured.Unstructured{}
		switch err := decoder.Decode(&manifest.Object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		live, err := objects.Resource(resourceOf(manifest.GroupVersionKind())).Namespace(manifest.GetNamespace()).
			Get(ctx, manifest.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		v := verdict{Object: manifest.GetAPIVersion() + " " + manifest.GetKind() + " " + manifest.GetName()}
		if v.ClientSide, err = compare(manifest, live); err != nil {
			return fmt.Errorf("%s: %w", v.Object, err)
		}
		if v.ServerSideApply, err = compare(manifest, live, diff.WithStructuredMergeDiff(true), diff.WithGVKParser(parser), diff.WithManager(manager)); err != nil {
			return fmt.Errorf("%s: server-side apply: %w", v.Object, err)
		}
		if err := encoder.Encode(v); err != nil {
			return err
		}
	}
}

// schemas are the types of all resources, as structured merges need them.
func schemas(client discovery.OpenAPISchemaInterface) (*managedfields.GvkParser, error) {
	document, err := client.OpenAPISchema()
	if err != nil {
		return nil, err
	}
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		return nil, err
	}
	return managedfields.NewGVKParser(models, false)
}

// resourceOf names the resource of a kind, by the English plural.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural := strings.ToLower(kind.Kind) + "s"
	if stem, ok := strings.CutSuffix(plural, "ys"); ok {
		plural = stem + "ies"
	}
	return kind.GroupVersion().WithResource(plural)
}

// compare returns the patch from the live object to what a sync would make of it.
func compare(manifest, live *unstructured.Unstructured, options ...diff.Option) (json.RawMessage, error) {
	result, err := diff.Diff(manifest, live, options...)
	if err != nil {
		return nil, err
	}
	if !result.Modified {
		return json.RawMessage("{}"), nil
	}
	return jsonpatch.CreateMergePatch(result.NormalizedLive, result.PredictedLive)
}
