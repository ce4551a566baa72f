//! Parquet for data frames: the figures of a fleet in the columns of the CSV, with types.

use std::sync::Arc;

use parquet::{
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedColumnWriter, SerializedFileWriter},
    },
    schema::parser::parse_message_type,
};
use repackbench_records::FleetFigure;

use super::csv::name;

/// The values of a column, a value or none for each figure.
enum Cells {
    Texts(Vec<Option<String>>),
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
}

/// The figures of a fleet as a Parquet file.
///
/// # Errors
/// Never: the file is made in memory.
pub fn fleet_parquet(figures: &[FleetFigure]) -> Result<Vec<u8>, ParquetError> {
    let columns = columns(figures);
    let fields: String = columns.iter().map(|(name, cells)| cells.field(name)).collect();
    let schema = Arc::new(parse_message_type(&format!("message fleet {{ {fields} }}"))?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::builder().build()))?;
    let mut group = writer.next_row_group()?;
    for (_, cells) in &columns {
        if let Some(column) = group.next_column()? {
            cells.write(column)?;
        }
    }
    group.close()?;
    writer.into_inner()
}

/// The columns in the order of the CSV.
fn columns(figures: &[FleetFigure]) -> [(&'static str, Cells); 13] {
    let texts = |of: &dyn Fn(&FleetFigure) -> Option<String>| Cells::Texts(figures.iter().map(of).collect());
    let numbers = |of: &dyn Fn(&FleetFigure) -> Option<f64>| Cells::Numbers(figures.iter().map(of).collect());
    let bytes = figures.iter().map(|figure| i64::try_from(figure.bytes_as_found).ok()).collect();
    [
        ("repository", texts(&|figure| Some(figure.repository.clone()))),
        ("fingerprint", texts(&|figure| Some(figure.fingerprint.clone()))),
        ("vcs", texts(&|figure| figure.vcs.as_ref().map(name))),
        ("bytes_as_found", Cells::Integers(bytes)),
        ("size_class", texts(&|figure| Some(name(&figure.size_class)))),
        ("content", texts(&|figure| figure.content.as_ref().map(name))),
        ("deltas", texts(&|figure| Some(name(&figure.deltas)))),
        ("codec", texts(&|figure| Some(figure.codec.clone()))),
        ("workload", texts(&|figure| figure.workload.clone())),
        ("value", numbers(&|figure| Some(figure.value))),
        ("ratio", numbers(&|figure| Some(figure.ratio))),
        ("ratio_low", numbers(&|figure| figure.interval.map(|interval| interval.low))),
        ("ratio_high", numbers(&|figure| figure.interval.map(|interval| interval.high))),
    ]
}

impl Cells {
    /// The column in the language of schemas.
    fn field(&self, name: &str) -> String {
        match self {
            Cells::Texts(_) => format!("optional binary {name} (STRING); "),
            Cells::Integers(_) => format!("optional int64 {name}; "),
            Cells::Numbers(_) => format!("optional double {name}; "),
        }
    }

    fn write(&self, mut column: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Cells::Texts(cells) => {
                let (values, levels) = present(cells, |text| ByteArray::from(text.as_bytes().to_vec()));
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?
            }
            Cells::Integers(cells) => {
                let (values, levels) = present(cells, |number| *number);
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?
            }
            Cells::Numbers(cells) => {
                let (values, levels) = present(cells, |number| *number);
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?
            }
        };
        column.close()
    }
}

/// The values that are there, and for each cell whether it has one: its definition level, 1 or 0.
fn present<T, V>(cells: &[Option<T>], value: impl Fn(&T) -> V) -> (Vec<V>, Vec<i16>) {
    let values = cells.iter().flatten().map(value).collect();
    (values, cells.iter().map(|cell| i16::from(cell.is_some())).collect())
}

#[cfg(test)]
mod tests {
    use parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::RowAccessor,
    };
    use repackbench_records::{DeltaOrigin, RatioInterval, RepositoryClass, Vcs};

    use super::*;

    fn figure(repository: &str, workload: Option<&str>, interval: Option<RatioInterval>) -> FleetFigure {
        FleetFigure {
            repository: repository.to_owned(),
            fingerprint: "f".to_owned(),
            vcs: Some(Vcs::Git),
            bytes_as_found: 1000,
            size_class: RepositoryClass::Below1Mb,
            content: None,
            deltas: DeltaOrigin::Kept,
            codec: "zstd:5".to_owned(),
            workload: workload.map(str::to_owned),
            value: 2.5,
            ratio: 0.5,
            interval,
        }
    }

    #[test]
    fn figures_are_read_back_with_their_types() {
        let interval = RatioInterval { low: 0.4, high: 0.6, coverage: 0.95 };
        let file = fleet_parquet(&[figure("a", None, None), figure("ü\n", Some("traverse"), Some(interval))]).unwrap();
        let mut on_disk = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut on_disk, &file).unwrap();
        let reader = SerializedFileReader::new(on_disk).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        let names = ["a", "ü\n"];
        for (row, name) in rows.iter().zip(names) {
            assert_eq!(row.get_string(0).unwrap(), name);
            assert_eq!((row.get_long(3).unwrap(), row.get_double(9).unwrap()), (1000, 2.5));
        }
        assert_eq!(rows[1].get_string(8).unwrap(), "traverse");
        assert_eq!(rows[1].get_double(12).unwrap(), 0.6);
        assert!(rows[0].get_string(8).is_err() && rows[0].get_double(12).is_err(), "no value is null");
        assert!(!fleet_parquet(&[]).unwrap().is_empty());
    }

    #[test]
    fn columns_are_those_of_the_csv() {
        let names = columns(&[]).map(|(name, _)| name);
        assert_eq!(names, super::super::csv::FLEET);
    }
}
