// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/cli"
	"helm.sh/helm/v4/pkg/registry"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
)

// What `make publish` pushes is pulled by Helm, by its version, and as Flux does it, by its digest and the media type of
// its layer. Each has the image of the release.
func TestAPublishedChartIsPulledAndRendered(t *testing.T) {
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none.json")))
	if err != nil {
		t.Fatal(err)
	}
	configuration := action.NewConfiguration()
	configuration.RegistryClient = client
	settings := cli.New()
	settings.ContentCache, settings.RepositoryCache = t.TempDir(), t.TempDir()

	var digests [2]string
	for n := range digests { // the same release has the same digest
		out := t.TempDir()
		if err := pack(released(t, "v1.2.3-rc.1", "a"), out); err != nil {
			t.Fatal(err)
		}
		push := action.NewPushWithOpts(action.WithPushConfig(configuration), action.WithPlainHTTP(true), action.WithPushOptWriter(io.Discard))
		push.Settings = settings
		if _, err := push.Run(filepath.Join(out, "fairlead-1.2.3-rc.1.tgz"), "oci://"+host+"/fairlead-dev/charts"); err != nil {
			t.Fatal(err)
		}
		reference, err := name.ParseReference(host + "/fairlead-dev/charts/fairlead:1.2.3-rc.1")
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := remote.Head(reference)
		if err != nil {
			t.Fatal(err)
		}
		digests[n] = manifest.Digest.String()
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %q of the same release", digests)
	}
	for how, archive := range map[string]string{"Helm": pulled(t, configuration, settings, host), "Flux": layer(t, host+"/fairlead-dev/charts/fairlead@"+digests[0])} {
		chart, err := loader.Load(archive)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		made, err := installAction(t, "a").Run(chart, nil)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if manifest := made.(*releasev1.Release).Manifest; !strings.Contains(manifest, `image: "registry.example.com/fairlead@sha256:`+strings.Repeat("a", 64)+`"`) {
			t.Errorf("%s: the image is not that of the release", how)
		}
	}
}

// pulled is the archive that `helm pull` makes.
func pulled(t *testing.T, configuration *action.Configuration, settings *cli.EnvSettings, host string) string {
	t.Helper()
	pull := action.NewPull(action.WithConfig(configuration))
	pull.Settings, pull.DestDir, pull.PlainHTTP, pull.Version = settings, t.TempDir(), true, "1.2.3-rc.1"
	if _, err := pull.Run("oci://" + host + "/fairlead-dev/charts/fairlead"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(pull.DestDir, "fairlead-1.2.3-rc.1.tgz")
}

// layer is the archive in the layer of a chart, by which a Flux OCIRepository selects it.
func layer(t *testing.T, reference string) string {
	t.Helper()
	digest, err := name.NewDigest(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	if of, err := layers[0].MediaType(); err != nil || of != registry.ChartLayerMediaType {
		t.Fatalf("a layer of type %s, %v", of, err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	file, err := os.Create(filepath.Join(t.TempDir(), "chart.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, content); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}
